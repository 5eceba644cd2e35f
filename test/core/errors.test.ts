import { readFile } from 'node:fs/promises'
import { catalogue, StoaError, type ErrorCode } from '@stoa/core/errors'
import { expect } from 'chai'

const PAGE = new URL('../../../context/concepts/errors.md', import.meta.url)

/** The table of the public contract. */
const contract: Record<number, ErrorCode[]> = {
  400: ['invalid', 'unknown_field', 'immutable_field', 'parent_mismatch'],
  401: ['not_authenticated'],
  403: ['level_too_low', 'role_too_low', 'token_scope', 'not_owner'],
  404: ['not_found'],
  405: ['method_not_allowed'],
  409: ['illegal_transition', 'lease_held', 'last_owner', 'nothing_to_compact', 'pinned', 'duplicate'],
  412: ['version_conflict'],
  413: ['too_large'],
  429: ['rate_limited'],
  500: ['internal'],
  503: ['unavailable']
}

describe('the catalogue of errors', () => {
  it('documents every code, with the status that it has, and no code that is gone', async () => {
    const documented = (await rows()).map(({ code, status }) => [code, status])
    const existing = Object.entries(catalogue).map(([code, { status }]) => [code, status])
    expect(documented.sort()).to.deep.equal(existing.sort())
  })

  it('says of every code when it is answered and what to do', async () => {
    for (const { code, when, what } of await rows()) {
      expect(when, code).not.to.equal('')
      expect(what, code).not.to.equal('')
    }
  })

  it('gives every code the status that the contract promises', () => {
    const statuses = Object.entries(contract).flatMap(([status, codes]) => codes.map((code) => [code, Number(status)]))
    expect(Object.fromEntries(Object.entries(catalogue).map(([code, { status }]) => [code, status]))).to.deep.equal(
      Object.fromEntries(statuses)
    )
  })

  it('says in one or more whole sentences what happened, and names no path, table or token', () => {
    for (const [code, { message }] of Object.entries(catalogue)) {
      expect(message, code).to.match(/^[A-Z].*\.$/)
      expect(message, code).not.to.match(/\/|select |stoa_|\.ts\b/i)
    }
  })

  it('keeps the cause of an error for the log, and out of what the caller is given', () => {
    const error = new StoaError('unavailable', { cause: new Error('disk I/O error in /var/lib') })
    expect(error.status).to.equal(503)
    expect(JSON.stringify({ message: error.message, data: error.data, errors: error.errors })).not.to.contain('disk')
    expect((error.cause as Error).message).to.contain('disk')
  })
})

async function rows(): Promise<{ code: string; status: number; when: string; what: string }[]> {
  const table = (await readFile(PAGE, 'utf8')).matchAll(/^\| `(\w+)` \| (\d{3}) \| (.*?) \| (.*?) \|$/gm)
  return [...table].map((row) => ({ code: row[1]!, status: Number(row[2]), when: row[3]!, what: row[4]! }))
}
