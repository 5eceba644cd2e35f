/**
 * Every error that Stoa answers with has a stable code from this catalogue. The status is chosen here and nowhere else.
 * `context/concepts/errors.md` documents each code; a test keeps the two in step.
 */
export const catalogue = {
  invalid: { status: 400, message: 'The request is malformed.' },
  unknown_field: { status: 400, message: 'The request has a field that does not exist here.' },
  immutable_field: { status: 400, message: 'This field is set once and cannot be changed.' },
  parent_mismatch: { status: 400, message: 'The record does not belong to the parent that the request names.' },
  not_authenticated: { status: 401, message: 'Sign in first: the credential is missing, expired or revoked.' },
  level_too_low: { status: 403, message: 'Your level on this worktree does not allow this.' },
  role_too_low: { status: 403, message: 'Your role does not allow this.' },
  token_scope: { status: 403, message: 'This token is not valid for this.' },
  not_owner: { status: 403, message: 'Only an owner of the worktree may do this.' },
  not_found: { status: 404, message: 'There is no such record, or you cannot see it.' },
  method_not_allowed: { status: 405, message: 'This method is not offered here.' },
  illegal_transition: { status: 409, message: 'The task cannot go from its status to that one.' },
  lease_held: { status: 409, message: 'An executor holds the lease of this task.' },
  last_owner: { status: 409, message: 'A worktree keeps at least one owner. Make somebody else an owner first.' },
  nothing_to_compact: {
    status: 409,
    message: 'Nothing lies between the boundary and the messages to keep: there is too little, or another compaction was first.'
  },
  pinned: { status: 409, message: 'A pinned session is not removed. Unpin it first.' },
  duplicate: { status: 409, message: 'There is another record with this id or name.' },
  version_conflict: { status: 412, message: 'The record has changed since the version you named. Read it again.' },
  too_large: { status: 413, message: 'The request is too large.' },
  rate_limited: { status: 429, message: 'Too many attempts. Wait, then try again.' },
  internal: { status: 500, message: 'Something failed inside the daemon. The log has the request id.' },
  unavailable: { status: 503, message: 'The database or the journal cannot be written now. Nothing was changed; try again.' }
} as const

export type ErrorCode = keyof typeof catalogue

export interface FieldError {
  field: string
  message: string
}

/** An error from the catalogue. `data` goes to the caller, `cause` only to the log. */
export class StoaError extends Error {
  override readonly name = 'StoaError'

  constructor(
    readonly code: ErrorCode,
    options: { message?: string; data?: Record<string, unknown>; errors?: FieldError[]; cause?: unknown } = {}
  ) {
    super(options.message ?? catalogue[code].message, { cause: options.cause })
    this.data = options.data ?? {}
    this.errors = options.errors ?? []
  }

  readonly data: Record<string, unknown>
  readonly errors: FieldError[]

  get status(): number {
    return catalogue[this.code].status
  }
}
