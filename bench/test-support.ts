/** The parts of the tests' support that are needed here, as they are after a build. The tests are no library, so nothing is declared. */
export interface TestSupport {
  startDaemon(options: {
    databaseUrl?: string
    env?: Record<string, string>
  }): Promise<{ url: string; home: string; pid: number; stop(): Promise<void> }>
  buildWorld(url: string): Promise<TestWorld>
  freshDatabase(): Promise<{ url: string; drop(): Promise<void> }>
  stopPostgres(): Promise<void>
}

interface Person {
  user_id: string
  token: string
}

interface TestWorld {
  user(name: string): Promise<Person>
  worktree(owner: Person, othersCan: string): Promise<string>
  session(author: Person, worktreeId: string): Promise<string>
  task(author: Person, sessionId: string): Promise<string>
}

export async function loadTestSupport(): Promise<TestSupport> {
  const modules = await Promise.all(
    ['daemon', 'world', 'postgres'].map(
      (name) => import(new URL(`../../test/dist/support/${name}.js`, import.meta.url).href) as Promise<object>
    )
  )
  return Object.assign({}, ...modules) as TestSupport
}
