import { bodySchemas, requestBodyOf, successOf } from './bodies.js'
import { errorResponses, errorSchema, errorsOf } from './error-responses.js'
import { listOperations, type Operation } from './operations.js'
import { parametersOf, sharedParameters } from './parameters.js'
import { policyText } from './policy-text.js'
import { recordSchemas } from './resources.js'

/**
 * The OpenAPI 3.1 document of the daemon, made from what the daemon itself uses: the schemas it validates with, the
 * policy it decides by, the catalogue it answers errors from. Nothing in it is written a second time.
 */
export function buildOpenApi(): object {
  return plain({
    openapi: '3.1.1',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: {
      title: 'Stoa',
      // Of the contract, not of the daemon: it may grow, and what it says does not change its meaning.
      version: '1.0.0',
      description:
        'The multi-user record of AI coding agents’ work. Ids are UUIDv7 text, times ISO 8601 UTC with milliseconds. ' +
        'A record that the caller cannot see is answered like one that does not exist. PUT is not offered (405).',
      license: { name: 'MIT', identifier: 'MIT' }
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    paths: paths(listOperations()),
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'An access token, an API key `stoa_pat_…` or a task token `stoa_task_…`. Never in a URL.'
        }
      },
      schemas: { ...recordSchemas(), ...bodySchemas, Error: errorSchema },
      parameters: sharedParameters,
      responses: errorResponses()
    }
  })
}

function paths(operations: Operation[]): Record<string, Record<string, object>> {
  const byPath: Record<string, Record<string, object>> = {}
  for (const operation of operations) {
    byPath[operation.path] = { ...byPath[operation.path], [operation.verb]: describe(operation) }
  }
  return byPath
}

function describe(operation: Operation): object {
  const { action, policy } = operation
  const requestBody = requestBodyOf(operation)
  return {
    operationId: action,
    tags: [operation.service],
    summary: action,
    description: policyText(policy),
    'x-stoa-policy': { action, ...policy },
    ...(policy.anyOf.some((rule) => rule.by === 'anyone') && { security: [] }),
    parameters: parametersOf(operation),
    ...(requestBody && { requestBody }),
    responses: { ...successOf(operation), ...errorsOf(operation) }
  }
}

/** Without the symbols that the schema builder leaves on its objects, and sharing nothing with them. */
function plain(document: object): object {
  return JSON.parse(JSON.stringify(document)) as object
}
