import type { Truncation } from '@stoa/core/schema/sessions'
import type { StoaParams } from '../../hooks/access.js'
import { TruncatingClass, type Truncated } from '../truncating-class.js'

/** Keeps the beginning of a transcript. */
export class SessionTruncationsClass extends TruncatingClass {
  create({ keep_count }: Truncation, params: StoaParams): Promise<Truncated> {
    return this.truncate(params, keep_count)
  }
}
