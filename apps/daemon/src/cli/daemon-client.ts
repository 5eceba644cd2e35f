import { CliError, UsageError } from './cli-error.js'

export const DEFAULT_DAEMON = 'http://127.0.0.1:4747'

/** A client of the public API, with one credential. */
export interface DaemonClient {
  post(path: string, body: object): Promise<unknown>
}

export function daemonClient(given: string, key: string): DaemonClient {
  const daemon = addressOf(given)
  return {
    async post(path, body) {
      const { response, text } = await send(`${daemon}${path}`, key, body).catch((error: unknown) => {
        throw new CliError(
          `${daemon} does not answer (${codeOf(error)}). Is the daemon running there? --daemon URL names another.`
        )
      })
      const answer = parse(text)
      if (!answer) throw new CliError(`${daemon} answered ${response.status}, but not as a Stoa daemon does. Check --daemon.`)
      if (!response.ok) throw refusal(response.status, answer)
      return answer
    }
  }
}

function addressOf(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : null
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new UsageError('--daemon is not a URL that starts with http:// or https://.')
  // A command line can be read by everyone on the machine.
  if (url.username || url.password || url.search || url.hash)
    throw new UsageError('--daemon has more than an address and a path; the key comes from STOA_KEY.')
  return url.href.replace(/\/+$/, '')
}

async function send(url: string, key: string, body: object): Promise<{ response: Response; text: string }> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  return { response, text: await response.text() }
}

/** fetch only says that it failed; why is in its cause. */
function codeOf(error: unknown): string {
  const { code } = ((error as { cause?: unknown }).cause ?? error) as { code?: unknown }
  return typeof code === 'string' ? code : 'no connection'
}

function parse(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    // A page of something else.
    return null
  }
}

function refusal(status: number, answer: Record<string, unknown>): CliError {
  const data = (answer['data'] ?? {}) as Record<string, unknown>
  const said = `${String(answer['message'])} (${status} ${String(data['code'] ?? 'without a code')})`
  if (status === 401) return new CliError(`${said} STOA_KEY must be an API key of an admin of this daemon.`)
  if (status === 403)
    return new CliError(`${said} It takes: ${String(data['need'])}. The key's user has: ${String(data['have'])}.`)
  return new CliError(data['request_id'] ? `${said} Request ${String(data['request_id'])}.` : said)
}
