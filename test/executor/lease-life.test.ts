import { lifeOf } from '@stoa/executor/dist/lease.js'
import { expect } from 'chai'

describe('the life of a lease', () => {
  const noon = Date.parse('2026-01-01T12:00:00.000Z')
  const expires_at = '2026-01-01T12:00:30.000Z'
  const date = (ms: number) => new Date(ms).toUTCString()

  it('is what is left until it expires, to the millisecond, when the clocks agree', () => {
    expect(lifeOf({ expires_at }, date(noon), noon + 250)).to.equal(29_750)
    expect(lifeOf({ expires_at }, null, noon)).to.equal(30_000)
  })

  it("is measured by the daemon's clock where ours is wrong, and is rather a second too short than too long", () => {
    for (const wrong of [-3_600_000, -10_000, 10_000, 3_600_000]) {
      expect(lifeOf({ expires_at }, date(noon), noon + wrong)).to.equal(29_000)
    }
  })

  it('cannot be told from an answer that does not say when it ends', () => {
    expect(() => lifeOf({}, null, noon)).to.throw('did not say when the lease ends')
  })
})
