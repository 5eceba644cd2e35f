import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

/*
 * The form of context/concepts/x.md that is checked here:
 * - a path of the repository stands in backticks and begins with a folder or file of its root: `packages/core/src/errors.ts`;
 *   braces stand for several: `apps/daemon/src/db/{scope,tables}.ts`;
 * - the section "## Rules" has numbered rules; each ends with the title of the test that proves it, in straight double
 *   quotes after an em dash or after "Test:", on the same line or on the ones that follow:
 *     1. What is invisible is not found — "J1: …"
 *     2. The catalogue and this page agree.
 *        *Test: "documents every code"*
 *   A title is what stands in `it(…)`. A title that is put together of parts is quoted up to the first part that varies,
 *   with an ellipsis in its place.
 * The glossary, words.md, is a table and has neither sections nor rules.
 */
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const MOST_LINES = 100
const GLOSSARY = 'context/concepts/words.md'
const SECTIONS = ['Words', 'Rules', 'Path', 'Why so', 'Not']

describe('what is written about the code', () => {
  const pages = readdirSync(join(ROOT, 'context/concepts'))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `context/concepts/${file}`)
  const titles = testSources().flatMap(titlesIn)

  it('there are concepts, and the tests have titles', () => {
    expect(pages).not.to.be.empty
    expect(titles.length).to.be.greaterThan(100)
  })

  for (const page of pages) {
    const text = readFileSync(join(ROOT, page), 'utf8')

    it(`${page} says in a sentence what it is about, and has at most ${MOST_LINES} lines`, () => {
      expect(text.trimEnd().split('\n').length).to.be.at.most(MOST_LINES)
      expect(text).to.match(/^\*\*What\.\*\* /m)
    })

    it(`${page} names only files that exist`, () => {
      expect(pathsIn(text).filter((path) => !existsSync(join(ROOT, path)))).to.deep.equal([])
    })

    if (page === GLOSSARY) continue

    it(`${page} has its sections: ${SECTIONS.join(', ')}`, () => {
      expect(SECTIONS.filter((section) => !new RegExp(`^## ${section}\\b`, 'm').test(text))).to.deep.equal([])
    })

    it(`${page} proves each of its rules with a test that exists`, () => {
      const rules = rulesIn(text)
      expect(rules).not.to.be.empty
      expect(rules.filter((rule) => quotedIn(rule).length === 0)).to.deep.equal([])
      expect(rules.flatMap(quotedIn).filter((title) => !titles.some((known) => agree(title, known)))).to.deep.equal([])
    })
  }

  for (const readme of ['README.md'].filter((file) => existsSync(join(ROOT, file)))) {
    const text = readFileSync(join(ROOT, readme), 'utf8')

    it('the README names only scripts, settings and files that exist', () => {
      const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
      const named = [...text.matchAll(/\bnpm (?:run )?(start|test|(?<=run )[\w:-]+)/g)].map(([, script]) => script!)
      expect(named.filter((script) => !(script in scripts))).to.deep.equal([])
      const readers = ['apps/daemon/src/config.ts', 'packages/executor/src/environment.ts'].map((file) =>
        readFileSync(join(ROOT, file), 'utf8')
      )
      const settings = [...text.matchAll(/\bSTOA_[A-Z_]*[A-Z]/g)].map(([setting]) => setting)
      expect(settings.filter((setting) => !readers.some((code) => code.includes(`'${setting}'`)))).to.deep.equal([])
      expect(pathsIn(text).filter((path) => !existsSync(join(ROOT, path)))).to.deep.equal([])
    })
  }
})

function testSources(): string[] {
  const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  return files
    .filter((file) => file.endsWith('.test.ts') && !/(^|\/)(node_modules|dist)\//.test(file))
    .map((file) => readFileSync(join(ROOT, 'test', file), 'utf8'))
}

/** What stands in `it(…)`, with an ellipsis for each part that is put in. */
function titlesIn(source: string): string[] {
  const found = source.matchAll(/\bit\(\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g)
  return [...found].map(([, single, double, template]) =>
    (single ?? double ?? template!.replace(/\$\{[^}]*\}/g, '…')).replace(/\\(.)/g, '$1')
  )
}

/** Either has an ellipsis where something varies; what stands before and after it has to be the same. */
function agree(quoted: string, title: string): boolean {
  const loosely = (text: string) =>
    new RegExp(
      `^${text
        .split('…')
        .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
        .join('.*')}$`,
      's'
    )
  return (
    quoted === title ||
    (quoted.includes('…') && loosely(quoted).test(title)) ||
    (title.replaceAll('…', '').trim() !== '' && loosely(title).test(quoted))
  )
}

function pathsIn(text: string): string[] {
  const roots = readdirSync(ROOT).filter((name) => !['node_modules', '.git'].includes(name))
  const quoted = [...text.matchAll(/`([\w@.{},/-]+)`/g)].map(([, path]) => path!)
  return quoted.filter((path) => path.includes('/') && roots.includes(path.split('/')[0]!)).flatMap(expand)
}

function expand(path: string): string[] {
  const braces = /\{([^}]*)\}/.exec(path)
  return braces ? braces[1]!.split(',').flatMap((part) => expand(path.replace(braces[0], part))) : [path]
}

/** The numbered rules, each with the lines that belong to it. */
function rulesIn(text: string): string[] {
  const section = /^## Rules\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(text)?.[1] ?? ''
  return section
    .split(/^(?=\d+\. )/m)
    .filter((part) => /^\d+\. /.test(part))
    .map((part) => part.replace(/\s+/g, ' ').trim())
}

function quotedIn(rule: string): string[] {
  const [, proof = ''] = /(?:—|Test:)\s*(".*)$/.exec(rule) ?? []
  return [...proof.matchAll(/"([^"]+)"/g)].map(([, title]) => title!)
}
