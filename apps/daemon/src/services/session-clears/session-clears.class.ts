import type { StoaParams } from '../../hooks/access.js'
import { TruncatingClass, type Truncated } from '../truncating-class.js'

/** Empties a transcript; the session and its numbering go on. */
export class SessionClearsClass extends TruncatingClass {
  async create(_data: unknown, params: StoaParams): Promise<Omit<Truncated, 'kept'>> {
    const { kept: _none, ...cleared } = await this.truncate(params, 0)
    return cleared
  }
}
