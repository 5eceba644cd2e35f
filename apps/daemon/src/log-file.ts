import { openSync, write, writeSync } from 'node:fs'

/**
 * A file that lines are appended to, many at a time and without waiting. A line that cannot be written (the disk is full) is
 * lost, and the next one is tried again: a log must not be able to stop what it tells about. pino's own destination can: its
 * error ends the process, and the flush at the end tries for ever.
 */
export function openLogFile(path: string, onFirstLoss: (error: Error) => void): { write(line: string): void } {
  const file = openSync(path, 'a', 0o600)
  let waiting: string[] = []
  let isWriting = false
  let hasLost = false

  const flush = (): void => {
    isWriting = waiting.length > 0
    if (!isWriting) return
    const lines = waiting.join('')
    waiting = []
    write(file, lines, (error) => {
      if (error && !hasLost) onFirstLoss(error)
      hasLost ||= error !== null
      flush()
    })
  }

  process.on('exit', () => {
    try {
      writeSync(file, waiting.join(''))
    } catch {
      // There is nobody left to tell.
    }
  })
  return {
    write(line) {
      waiting.push(line)
      if (!isWriting) flush()
    }
  }
}
