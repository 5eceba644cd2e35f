import { ERROR } from '@feathersjs/knex'
import { StoaError } from '@stoa/core/errors'

/**
 * Driver errors become catalogue errors here, and nowhere else; the driver's own text (SQL, values) stays in `cause`.
 */
export function mapDriverError(thrown: unknown): StoaError {
  if (thrown instanceof StoaError) return thrown
  const error = driverErrorIn(thrown)
  if (isUniqueViolation(error)) return new StoaError('duplicate', { cause: error })
  if (isUnstorable(error))
    return new StoaError('invalid', { message: 'A value is outside what can be stored or compared.', cause: error })
  if (isForeignKeyViolation(error)) return new StoaError('not_found', { cause: error })
  return new StoaError('unavailable', { cause: error })
}

/** Feathers' adapter wraps what the driver threw. */
function driverErrorIn(thrown: unknown): unknown {
  return (thrown as { [ERROR]?: unknown } | null)?.[ERROR] ?? thrown
}

/** An error of one statement, not of the database: whoever shares a transaction with it is not to blame. */
export function isOfOneStatement(error: unknown): boolean {
  return ['SQLITE_CONSTRAINT', 'SQLITE_ERROR', 'SQLITE_TOOBIG', 'SQLITE_RANGE', 'SQLITE_MISMATCH'].includes(codeOf(error))
}

function isUniqueViolation(error: unknown): boolean {
  return codeOf(error) === '23505' || (codeOf(error) === 'SQLITE_CONSTRAINT' && messageOf(error).includes('UNIQUE'))
}

function isForeignKeyViolation(error: unknown): boolean {
  return codeOf(error) === '23503' || (codeOf(error) === 'SQLITE_CONSTRAINT' && messageOf(error).includes('FOREIGN KEY'))
}

/** A number beyond the column's range, or text that is not Unicode (PostgreSQL's class 22: data exceptions). */
function isUnstorable(error: unknown): boolean {
  return /^22\w{3}$/.test(codeOf(error))
}

/** PostgreSQL ended one of two transactions that waited for each other, or could not order them: trying again is right. */
export function isTransient(error: unknown): boolean {
  return codeOf(error) === '40P01' || codeOf(error) === '40001'
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : ''
}
