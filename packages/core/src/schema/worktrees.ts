import { Type, type Static } from '@sinclair/typebox'
import { LEVELS, OTHERS_LEVELS } from '../policy/levels.js'
import { defineSchema } from './service-schema.js'
import { closed, id, line, nullable, oneOf, stamps, time, version } from './types.js'

export const worktreeSchema = defineSchema({
  name: 'worktrees',
  id: 'worktree_id',
  record: Type.Object({
    worktree_id: id(),
    name: line(200),
    repo_path: nullable(line(4096)),
    path: nullable(line(4096)),
    ref: nullable(line(400)),
    base_sha: nullable(Type.String({ pattern: '^[0-9a-f]{40,64}$' })),
    others_can: oneOf(OTHERS_LEVELS),
    archived_at: nullable(time()),
    my_level: oneOf(LEVELS),
    version: version(),
    ...stamps
  }),
  create: Type.Object(
    {
      name: line(200),
      repo_path: Type.Optional(line(4096)),
      ref: Type.Optional(line(400)),
      others_can: Type.Optional(oneOf(OTHERS_LEVELS))
    },
    closed
  ),
  patch: Type.Partial(Type.Object({ name: line(200), others_can: oneOf(OTHERS_LEVELS), archived_at: nullable(time()) }), closed),
  filters: ['worktree_id', 'name', 'others_can', 'archived_at', 'created_at', 'created_by', 'updated_at'],
  parents: []
})

export type Worktree = Static<typeof worktreeSchema.record>
export type WorktreeCreate = Static<typeof worktreeSchema.create>
export type WorktreePatch = Static<typeof worktreeSchema.patch>
