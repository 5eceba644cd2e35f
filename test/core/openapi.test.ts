import { Validator } from '@seriousme/openapi-schema-validator'
import { buildOpenApi } from '@stoa/core/contract/openapi'
import { catalogue } from '@stoa/core/errors'
import { policies, policyOf } from '@stoa/core/policy/actions'
import { expect } from 'chai'

interface Operation {
  operationId: string
  security?: unknown[]
  parameters: { $ref?: string; name?: string; in?: string; schema?: unknown }[]
  requestBody?: unknown
  responses: Record<string, unknown>
  'x-stoa-policy': { action: string }
}

interface Document {
  paths: Record<string, Record<string, Operation>>
  components: {
    schemas: Record<string, unknown>
    parameters: Record<string, { schema: unknown }>
    responses: Record<string, { content: Record<string, { schema: { allOf: unknown[] } }> }>
  }
}

describe('the OpenAPI document', () => {
  const document = buildOpenApi() as Document
  const operations = Object.entries(document.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => ({ path, verb, operation }))
  )
  const operationOf = (action: string) => operations.find(({ operation }) => operation.operationId === action)!.operation

  it('is valid OpenAPI 3.1', async () => {
    const result = await new Validator().validate({ ...document })
    expect(result.errors ?? []).to.deep.equal([])
    expect(result.valid).to.equal(true)
  })

  it('has exactly one operation for every action of the policy, and none besides', () => {
    expect(operations.map(({ operation }) => operation.operationId).sort()).to.deep.equal(Object.keys(policies).sort())
  })

  it('says of every operation who may do it, in the words of the policy that is enforced', () => {
    for (const { operation } of operations) {
      const { action, ...policy } = operation['x-stoa-policy']
      expect(action).to.equal(operation.operationId)
      expect(policy).to.deep.equal(JSON.parse(JSON.stringify(policyOf(action))))
    }
  })

  it('asks for a credential wherever the policy does', () => {
    const open = operations
      .filter(({ operation }) => operation.security?.length === 0)
      .map(({ operation }) => operation.operationId)
    expect(open.sort()).to.deep.equal([
      'authentication.create',
      'health.get',
      'livez.get',
      'metrics.get',
      'openapi.get',
      'readyz.get'
    ])
  })

  it('has no reference that leads nowhere', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]!)
    expect(references).not.to.deep.equal([])
    const broken = references.filter((reference) => resolve(document, reference) === undefined)
    expect(broken).to.deep.equal([])
  })

  it('lists every error code of the catalogue under its status, and no other', () => {
    const listed = Object.entries(document.components.responses).flatMap(([name, response]) => {
      const part = response.content['application/json']!.schema.allOf[1] as {
        properties: { data: { properties: { code: { enum: string[] } } } }
      }
      return part.properties.data.properties.code.enum.map((code) => [code, Number(name.replace('Error', ''))])
    })
    expect(Object.fromEntries(listed)).to.deep.equal(
      Object.fromEntries(Object.entries(catalogue).map(([code, { status }]) => [code, status]))
    )
  })

  it('offers no PUT', () => {
    expect(operations.filter(({ verb }) => !['get', 'post', 'patch', 'delete'].includes(verb))).to.deep.equal([])
  })

  it('names every part of a path as a parameter of the operation', () => {
    for (const { path, operation } of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
      const declared = operation.parameters.filter((parameter) => parameter.in === 'path').map((parameter) => parameter.name)
      expect(declared, path).to.deep.equal(inPath)
    }
  })

  it('gives every list a limit of 50 and at most 200, and pages messages and the journal by seq', () => {
    expect(document.components.parameters['Limit']!.schema).to.include({ default: 50, maximum: 200 })
    for (const action of Object.keys(policies).filter((name) => name.endsWith('.find') && !NO_LISTS.includes(name))) {
      expect(queryNames(action), action).to.include.members(['$limit', '$skip', '$sort', '$select'])
    }
    expect(queryNames('messages.find')).to.include.members(['after_seq', 'before_seq', 'session_id'])
    expect(queryNames('journal.find')).to.include.members(['after_seq', 'decision', 'resource_id'])
  })

  it('gives the context its own limit, the export a format, and the list of messages a search', () => {
    expect(queryNames('session-context.find')).to.deep.equal(['session_id', 'include', '$limit'])
    expect(queryNames('session-exports.find')).to.deep.equal(['session_id', 'format'])
    expect(queryNames('task-events.find')).to.deep.equal(['task_id', '$limit', '$skip'])
    expect(queryNames('messages.find')).to.include.members(['search', 'include'])
    const limit = operationOf('session-context.find').parameters.find(({ name }) => name === '$limit')
    expect(limit?.schema).to.include({ minimum: 0, maximum: 1000 })
  })

  it('takes nothing that is not documented where something is done to a session or a message', () => {
    const bodies: Record<string, string[]> = {
      'session-forks.create': ['at_seq', 'title', 'worktree_id'],
      'session-truncations.create': ['keep_count'],
      'session-clears.create': [],
      'session-undos.create': ['undo_token'],
      'session-compactions.create': ['summary', 'keep_last', 'last_seq'],
      'message-restores.create': []
    }
    for (const [action, fields] of Object.entries(bodies)) {
      const { requestBody, responses } = operationOf(action)
      const { schema } = (requestBody as { content: { 'application/json': { schema: Record<string, object> } } }).content[
        'application/json'
      ]
      expect(Object.keys(schema['properties'] ?? {}), action).to.deep.equal(fields)
      expect(schema['additionalProperties'], action).to.equal(false)
      expect(responses, action).to.include.keys('201', '400', '401', '403', '404')
    }
  })

  it('takes If-Match on every patch of a record that has a version', () => {
    for (const action of PATCHES) {
      expect(operationOf(action).parameters, action).to.deep.include({ $ref: '#/components/parameters/IfMatch' })
    }
  })

  it('lets no patch name a parent in its body', () => {
    for (const action of PATCHES) {
      const body = operationOf(action).requestBody as { content: { 'application/json': { schema: { $ref: string } } } }
      const schema = resolve(document, body.content['application/json'].schema.$ref) as {
        properties: object
        additionalProperties: boolean
      }
      expect(schema.properties, action).not.to.have.any.keys('session_id', 'worktree_id', 'task_id', 'user_id')
      expect(schema.additionalProperties, action).to.equal(false)
    }
  })

  function queryNames(action: string): string[] {
    return operationOf(action).parameters.map((parameter) => {
      const { name } = (parameter.$ref ? resolve(document, parameter.$ref) : parameter) as { name: string }
      return name
    })
  }
})

/** Patches of records; a lease is renewed and has no version. */
const PATCHES = Object.keys(policies).filter((name) => name.endsWith('.patch') && name !== 'leases.patch')

/** One thing, though the method that answers it is called `find`. */
const NO_LISTS = ['session-context.find', 'session-exports.find', 'task-events.find']

/** Follows a reference within the document; `undefined` when it leads nowhere. */
function resolve(document: unknown, reference: string): unknown {
  return reference
    .replace(/^#\//, '')
    .split('/')
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], document)
}
