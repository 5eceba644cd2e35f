import { createServer } from 'node:http'
import { constantTask, nowhere } from './constant.js'
import { ANY_PORT, serve } from './serve.js'

// The limit of the machine: node:http with a constant answer. It reads the body to its end, and nothing in it.

const answer = Buffer.from(JSON.stringify(constantTask))

const server = createServer((request, response) => {
  request.resume().once('end', () => {
    response.writeHead(request.method === 'POST' ? 201 : 200, {
      'content-type': 'application/json',
      'content-length': answer.length
    })
    response.end(answer)
  })
})

await serve(server.listen(ANY_PORT), nowhere)
