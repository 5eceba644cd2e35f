import { Counter, Histogram, Registry, collectDefaultMetrics } from 'prom-client'

export interface Metrics {
  observe(action: string, outcome: string, started: number): void
  countDecision(decision: 'allow' | 'deny', code: string): void
  text(): Promise<string>
}

/** A registry of its own: two daemons in one process (tests) do not share counters. */
export function makeMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const requests = new Histogram({
    name: 'stoa_request_seconds',
    help: 'Time from the request context to the answer, by action and outcome',
    labelNames: ['action', 'outcome'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers: [registry]
  })
  const decisions = new Counter({
    name: 'stoa_decisions_total',
    help: 'Decisions in the journal, by outcome and reason code',
    labelNames: ['decision', 'code'],
    registers: [registry]
  })
  return {
    observe: (action, outcome, started) => requests.observe({ action, outcome }, (performance.now() - started) / 1000),
    countDecision: (decision, code) => decisions.inc({ decision, code }),
    text: () => registry.metrics()
  }
}
