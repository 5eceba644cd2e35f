import { expect } from 'chai'
import { client } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { buildWorld } from '../support/world.js'
import { anywhere } from './matrix-cell.js'
import { SERVICES, cellsOf } from './matrix-cells.js'
import { openDoors, runCells, type Doors } from './matrix-run.js'
import { setTheScene, type Scene } from './matrix-scene.js'

describe('the table of rights, through every door', () => {
  eachDatabase((database) => {
    let scene: Scene

    before(async function () {
      this.timeout(120_000)
      const daemon = await database.start({ STOA_LEASE_S: '3600' })
      scene = await setTheScene(await buildWorld(daemon.url))
    })

    it('J4: what anyone may read is answered to every credential and to none, and leaves no journal row', async () => {
      const mark = await scene.world.journalEnd()
      for (const { token } of anywhere(scene)) {
        for (const path of ['/livez', '/readyz', '/health', '/metrics', '/openapi.json']) {
          expect((await client(scene.world.url, token).get(path)).status, path).to.equal(200)
        }
      }
      expect(await scene.world.journalSince(mark)).to.deep.equal([])
    })

    for (const transport of ['rest', 'socketio'] as const) {
      describe(transport === 'rest' ? 'over REST' : 'over a socket', () => {
        let doors: Doors

        before(() => {
          doors = openDoors(scene.world.url, transport)
        })

        after(() => doors.close())

        for (const service of SERVICES) {
          it(`J4: ${service}: every level, role, session and credential gets the status, the code and the one journal row of the table`, async function () {
            this.timeout(180_000)
            await runCells(scene, doors, await cellsOf[service](scene))
          })
        }
      })
    }
  })
})
