/** What the load generator has to know about a running server. The same shape for each of them. */
export interface World {
  url: string
  /** A person who may do all the work; null where the server asks nobody. */
  token: string | null
  /** A person who is signed in and may see none of it. */
  stranger: string | null
  sessions: string[]
  /** In one worktree, spread evenly over the sessions. */
  tasks: string[]
}

/** Enough that 32 connections seldom meet on one row, few enough that all of them stay in every cache. */
export const SESSIONS = 16
export const TASKS = 64

/** What the tests' world gives to the daemon, so that every server answers with the same number of bytes. */
export const PROMPT = 'do it'
