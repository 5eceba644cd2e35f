import { hash, verify } from '@node-rs/argon2'

/** argon2id with the parameters that OWASP names first: 19 MiB, two passes, one lane. They are also the library's defaults. */
const options = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export function hashPassword(password: string): Promise<string> {
  return hash(password, options)
}

/** An unknown account costs as much as a wrong password: the time tells nobody which e-mail addresses exist. */
export async function verifyPassword(stored: string | null, password: string): Promise<boolean> {
  const matches = await verify(stored ?? (await decoy), password)
  return stored !== null && matches
}

const decoy = hashPassword('an account that does not exist')
