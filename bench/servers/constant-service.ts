import { feathers } from '@feathersjs/feathers'
import { bodyParser, errorHandler, koa, rest } from '@feathersjs/koa'
import { constantTask, nowhere } from './constant.js'
import { ANY_PORT, serve } from './serve.js'

// The limit of the framework: Feathers and Koa as its generator sets them up, with services that do nothing.

const constantService = {
  get: async () => constantTask,
  create: async () => constantTask,
  patch: async () => constantTask
}

const app = koa(feathers())
app.use(errorHandler())
app.use(bodyParser())
app.configure(rest())
app.use('tasks', constantService)
app.use('messages', { ...constantService })

await serve(await app.listen(ANY_PORT as never), nowhere)
