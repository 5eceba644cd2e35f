import type { Policy, Rule } from '../policy/actions.js'

/** The rules of an operation in words: `level prompt (in one's own session: session), or role admin`. */
export function policyText({ anyOf, fields, token, executor }: Policy): string {
  const extra = Object.entries(fields ?? {}).map(([field, rules]) => `The field \`${field}\`: ${rulesText(rules)}.`)
  const reach = token ? `A task token reaches this within its ${token}.` : ''
  const scope = executor ? 'Only with an API key of the scope `executor`.' : ''
  return [`Allowed to: ${rulesText(anyOf)}.`, ...extra, reach, scope].filter(Boolean).join(' ')
}

function rulesText(rules: readonly Rule[]): string {
  return rules.map(ruleText).join(', or ')
}

function ruleText(rule: Rule): string {
  switch (rule.by) {
    case 'level':
      return `level \`${rule.level}\`${rule.own ? ` (in one's own session: \`${rule.own}\`)` : ''}`
    case 'role':
      return `role \`${rule.role}\``
    case 'self':
      return 'the one it belongs to'
    case 'break_glass':
      return 'role `admin` for oneself, with a `reason`'
    case 'signed_in':
      return 'everyone signed in'
    case 'anyone':
      return 'anyone'
  }
}
