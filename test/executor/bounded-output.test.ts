import { BoundedOutput, KEPT_BYTES } from '@stoa/executor/dist/bounded-output.js'
import { expect } from 'chai'
import fc from 'fast-check'

const KEPT = 16
const MARKER = /^([^]*)\n\[… (\d+) bytes cut …\]\n([^]*)$/

/** Too long to fit, of characters of one to four bytes, so that a cut often meets the middle of one. */
const longTexts = fc
  .array(fc.constantFrom('a', 'é', '€', '🏛', '\n'), { minLength: 2 * KEPT + 1, maxLength: 60 })
  .map((characters) => characters.join(''))
const bytes = fc.uint8Array({ maxLength: 120, size: 'max' })
const splits = fc.array(fc.nat({ max: 120 }), { maxLength: 12, size: 'max' })

describe('bounded output', () => {
  it('is the same however the bytes were cut into chunks', () => {
    fc.assert(
      fc.property(bytes, splits, splits, (all, one, other) => {
        expect(textOf(chunks(all, one))).to.equal(textOf(chunks(all, other)))
      })
    )
  })

  it('is the whole text while that fits, with NUL left out and broken UTF-8 replaced', () => {
    fc.assert(
      fc.property(bytes, splits, (all, at) => {
        const whole = new TextDecoder('utf-8', { ignoreBOM: true }).decode(all).replaceAll('\0', '')
        fc.pre(Buffer.byteLength(whole) <= 2 * KEPT)
        expect(textOf(chunks(all, at))).to.equal(whole)
      })
    )
  })

  it('is the beginning, how much was cut, and the end, when it does not fit; no character is split', () => {
    fc.assert(
      fc.property(longTexts, splits, (text, at) => {
        const [, head, cut, tail] = MARKER.exec(textOf(chunks(Buffer.from(text), at)))!
        expect(text.startsWith(head!)).to.equal(true)
        expect(text.endsWith(tail!)).to.equal(true)
        expect(Buffer.byteLength(head!)).to.be.within(KEPT - 3, KEPT)
        expect(Buffer.byteLength(tail!)).to.be.within(KEPT - 3, KEPT)
        expect(Number(cut)).to.equal(Buffer.byteLength(text) - Buffer.byteLength(head!) - Buffer.byteLength(tail!))
      })
    )
  })

  it('keeps a character whole when the other stream writes between its halves', () => {
    const output = new BoundedOutput(KEPT)
    const [stdout, stderr] = [output.source(), output.source()]
    const [first, ...rest] = Buffer.from('é')
    stdout(Buffer.of(first!))
    stderr(Buffer.from('!'))
    stdout(Buffer.from(rest))
    expect(output.text()).to.equal('!é')
  })

  it('keeps 64 KiB of each end of an output of many megabytes', () => {
    const output = new BoundedOutput()
    const write = output.source()
    for (let chunk = 0; chunk < 256; chunk++) write(Buffer.alloc(65_536, chunk === 0 ? 'a' : chunk === 255 ? 'z' : 'm'))
    const [, head, cut, tail] = MARKER.exec(output.text())!
    expect(head).to.equal('a'.repeat(KEPT_BYTES))
    expect(tail).to.equal('z'.repeat(KEPT_BYTES))
    expect(Number(cut)).to.equal(254 * 65_536)
  })
})

function textOf(parts: Uint8Array[]): string {
  const output = new BoundedOutput(KEPT)
  const write = output.source()
  for (const part of parts) write(part)
  return output.text()
}

function chunks(all: Uint8Array, splits: readonly number[]): Uint8Array[] {
  const at = [0, ...splits.map((split) => Math.min(split, all.length)).sort((a, b) => a - b), all.length]
  return at.slice(1).map((end, index) => all.subarray(at[index]!, end))
}
