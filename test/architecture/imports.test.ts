import { readFileSync, readdirSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

describe('what imports what', () => {
  const sources = ['packages/core/src', 'packages/executor/src', 'apps/daemon/src'].flatMap(sourcesUnder)
  const inside = (folder: string) => sources.filter(({ path }) => path.startsWith(`${folder}/`))

  /** `file → what it imports`, for each import that is not allowed. */
  const wrong = (files: Source[], isWrong: (imported: Import, file: Source) => boolean): string[] =>
    files.flatMap((file) =>
      file.imports.filter((imported) => isWrong(imported, file)).map(({ name }) => `${file.path} → ${name}`)
    )

  const using = (files: Source[], forbidden: RegExp): string[] =>
    files.flatMap(({ path, code }) => [...code.matchAll(new RegExp(forbidden, 'g'))].map(([found]) => `${path} uses ${found}`))

  it('there are sources in all three packages, and every relative import is of one of them', () => {
    for (const folder of ['packages/core/src', 'packages/executor/src', 'apps/daemon/src'])
      expect(inside(folder), folder).not.to.be.empty
    const paths = new Set(sources.map(({ path }) => path))
    expect(wrong(sources, ({ name, path }) => name.startsWith('.') && !paths.has(path))).to.deep.equal([])
  })

  it('core imports itself and typebox, and nothing else, of node neither', () => {
    expect(
      wrong(
        inside('packages/core/src'),
        ({ name, path }) => !path.startsWith('packages/core/src/') && name !== '@sinclair/typebox'
      )
    ).to.deep.equal([])
  })

  it('core does not look at the clock, at chance or at the process', () => {
    expect(
      using(
        inside('packages/core/src'),
        /Date\.now|new Date\(\)|Math\.random|\bprocess\.|\bglobalThis\b|\bcrypto\.|\bperformance\./
      )
    ).to.deep.equal([])
  })

  it('neither core nor the executor imports the daemon, and the daemon does not import the executor', () => {
    const packages = [...inside('packages/core/src'), ...inside('packages/executor/src')]
    expect(wrong(packages, ({ name, path }) => name.startsWith('@stoa/daemon') || path.startsWith('apps/'))).to.deep.equal([])
    expect(
      wrong(
        inside('apps/daemon/src'),
        ({ name, path }) => name.startsWith('@stoa/executor') || path.startsWith('packages/executor')
      )
    ).to.deep.equal([])
  })

  it('only db/ imports knex and the drivers', () => {
    const outside = inside('apps/daemon/src').filter(({ path }) => !path.startsWith('apps/daemon/src/db/'))
    const isDriver = (name: string) => /^(knex|@feathersjs\/knex|sqlite3|pg)(\/|$)/.test(name)
    expect(wrong([...outside, ...inside('packages/executor/src')], ({ name }) => isDriver(name))).to.deep.equal([])
  })

  it('only config.ts reads the environment, which main.ts hands to it', () => {
    const daemon = inside('apps/daemon/src').filter(({ path }) => path !== 'apps/daemon/src/config.ts')
    expect(using(daemon, /process\.env\b.*/)).to.deep.equal(['apps/daemon/src/main.ts uses process.env)'])
  })

  it('db/ knows nothing of hooks, services or http', () => {
    expect(
      wrong(inside('apps/daemon/src/db'), ({ path }) => /^apps\/daemon\/src\/(hooks|services|http|realtime)\//.test(path))
    ).to.deep.equal([])
  })

  it('hooks import no service, not its types either', () => {
    expect(wrong(inside('apps/daemon/src/hooks'), ({ path }) => path.startsWith('apps/daemon/src/services/'))).to.deep.equal([])
  })

  it('a service does not import from the folder of another', () => {
    const ofOther = ({ path }: Import, file: Source) =>
      dirname(path).startsWith('apps/daemon/src/services/') && dirname(path) !== dirname(file.path)
    expect(
      wrong(
        inside('apps/daemon/src/services').filter(({ path }) => path !== 'apps/daemon/src/services/index.ts'),
        ofOther
      )
    ).to.deep.equal([])
  })

  it('no import goes round in a circle', () => {
    const byPath = new Map(sources.map((file) => [file.path, file]))
    expect(sources.flatMap(({ path }) => circleFrom(path, byPath))).to.deep.equal([])
  })

  it('no file has a default export, and none has the name of nothing in particular', () => {
    const all = [...sources, ...sourcesUnder('test').filter(({ path }) => !/\/(dist|node_modules)\//.test(path))]
    expect(using(all, /^export default\b|\bas default\b/m)).to.deep.equal([])
    expect(
      all.map(({ path }) => path).filter((path) => /^(utils?|helpers?|common|misc)$/.test(basename(path, '.ts')))
    ).to.deep.equal([])
  })
})

interface Import {
  /** As it is written. */
  name: string
  /** Where a relative import leads, from the root of the repository; otherwise the name. */
  path: string
  /** Erased when it is built. */
  typeOnly: boolean
}

interface Source {
  path: string
  /** Without comments. */
  code: string
  imports: Import[]
}

function sourcesUnder(folder: string): Source[] {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
  return files
    .filter((file) => file.endsWith('.ts') && !/(^|\/)(node_modules|dist)\//.test(file))
    .map((file) => sourceOf(join(folder, file)))
}

function sourceOf(path: string): Source {
  const code = withoutComments(readFileSync(join(ROOT, path), 'utf8'))
  const statements = [
    ...code.matchAll(/^(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm),
    ...code.matchAll(/\b(?:import|require|createRequire\([^)]*\))(\()'([^']+)'/g)
  ]
  const imports = statements.map(([, kind, name]): Import => ({
    name: name!,
    path: targetOf(path, name!),
    typeOnly: kind?.startsWith('type') === true
  }))
  return { path, code, imports }
}

function targetOf(from: string, name: string): string {
  return name.startsWith('.') ? relative('.', join(dirname(from), name)).replace(/\.js$/, '.ts') : name
}

/** Good enough for our own sources: no string in them has a comment's beginning after a space or at the start of a line. */
function withoutComments(code: string): string {
  return code.replace(/^\s*\/\*[\s\S]*?\*\//gm, '').replace(/(^|\s)\/\/.*$/gm, '$1')
}

function circleFrom(start: string, byPath: Map<string, Source>): string[] {
  const seen = new Set<string>()
  const visit = (path: string, way: string[]): string[] | null => {
    for (const { path: next, typeOnly } of byPath.get(path)?.imports ?? []) {
      if (typeOnly) continue
      if (next === start) return [...way, next]
      if (seen.has(next)) continue
      seen.add(next)
      const found = visit(next, [...way, next])
      if (found) return found
    }
    return null
  }
  const circle = visit(start, [start])
  return circle ? [circle.join(' → ')] : []
}
