/** Numbers in [0, 1), the same for the same seed (mulberry32). */
export function randomness(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** From the environment, to have the same again, or a new one. */
export function chosenSeed(): number {
  return Number(process.env['SEED'] ?? Date.now() % 1_000_000)
}
