import { TextDecoder } from 'node:util'

export const KEPT_BYTES = 64 * 1024

/**
 * The output of a command, of which the first and the last 64 KiB are kept and the middle is only counted, so that a
 * command that prints without end costs no memory. It is text: bytes that are not UTF-8 become U+FFFD, and NUL, which
 * PostgreSQL cannot store, is left out.
 */
export class BoundedOutput {
  readonly #head: Buffer
  /** A ring: the byte number n is at n modulo its length. */
  readonly #tail: Buffer
  readonly #sources: TextDecoder[] = []
  #headBytes = 0
  #tailBytes = 0

  constructor(kept: number = KEPT_BYTES) {
    this.#head = Buffer.alloc(kept)
    this.#tail = Buffer.alloc(kept)
  }

  /**
   * Where one stream writes to. Each has a decoder of its own: a character that is cut in two by a chunk of stdout must
   * not be broken by a chunk of stderr that comes between its halves.
   */
  source(): (chunk: Uint8Array) => void {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
    this.#sources.push(decoder)
    return (chunk) => this.#append(decoder.decode(chunk, { stream: true }))
  }

  /** Call it once, when all sources have ended: a character that never got its end is shown as broken. */
  text(): string {
    for (const decoder of this.#sources.splice(0)) this.#append(decoder.decode())
    const head = this.#head.subarray(0, this.#headBytes)
    const tail = this.#tailInOrder()
    if (this.#tailBytes <= this.#tail.length) return Buffer.concat([head, tail]).toString()

    const start = head.subarray(0, endOfWholeCharacters(head))
    const end = tail.subarray(startOfWholeCharacters(tail))
    const cut = this.#headBytes + this.#tailBytes - start.length - end.length
    return `${start}\n[… ${cut} bytes cut …]\n${end}`
  }

  #append(text: string): void {
    const bytes = Buffer.from(text.replaceAll('\0', ''))
    const toHead = bytes.copy(this.#head, this.#headBytes)
    this.#headBytes += toHead
    const rest = bytes.subarray(toHead)
    const last = rest.subarray(Math.max(0, rest.length - this.#tail.length))
    const at = (this.#tailBytes + rest.length - last.length) % this.#tail.length
    const beforeWrap = last.copy(this.#tail, at)
    last.copy(this.#tail, 0, beforeWrap)
    this.#tailBytes += rest.length
  }

  #tailInOrder(): Buffer {
    if (this.#tailBytes <= this.#tail.length) return this.#tail.subarray(0, this.#tailBytes)
    const oldest = this.#tailBytes % this.#tail.length
    return Buffer.concat([this.#tail.subarray(oldest), this.#tail.subarray(0, oldest)])
  }
}

// What is kept was valid UTF-8 before it was cut, so only the cut itself can have split a character.

function startOfWholeCharacters(bytes: Uint8Array): number {
  let start = 0
  while (start < bytes.length && isContinuation(bytes[start]!)) start++
  return start
}

function endOfWholeCharacters(bytes: Uint8Array): number {
  let lead = bytes.length - 1
  while (lead > 0 && isContinuation(bytes[lead]!)) lead--
  return lead >= 0 && lead + characterLength(bytes[lead]!) > bytes.length ? lead : bytes.length
}

function isContinuation(byte: number): boolean {
  return (byte & 0b1100_0000) === 0b1000_0000
}

function characterLength(lead: number): number {
  if (lead < 0x80) return 1
  if (lead < 0xe0) return 2
  return lead < 0xf0 ? 3 : 4
}
