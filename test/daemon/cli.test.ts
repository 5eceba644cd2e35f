import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { SweepReport } from '@stoa/core/schema/sweeps'
import { expect } from 'chai'
import { eachStore } from '../support/stores.js'
import { runStoa } from '../support/run-stoa.js'
import { GUARD, setTheScene, type SweepScene } from '../scenarios/sweep-scene.js'

describe('the command line', () => {
  eachStore((kind) => {
    let scene: SweepScene
    let key: string
    let there: string[]

    before(async () => {
      scene = await setTheScene(kind)
      key = (await scene.world.apiKey(scene.world.root)).secret
      there = ['--daemon', scene.daemon.url]
    })

    it('G5: an admin sweeps: the dry run says what would go and why the rest stays, --apply removes it, then there is nothing', async () => {
      const worktree = await scene.world.worktree(scene.alice)
      const removable = [await scene.empty(worktree), await scene.empty(worktree)].sort()
      const young = await scene.world.session(scene.alice, worktree)

      const dry = await runStoa(['sweep', ...there], key)
      expect([dry.code, dry.stderr]).to.deep.equal([0, ''])
      expect(dry.stdout).to.match(/^2 empty sessions would be removed\. Nothing was changed; --apply removes\.\n/)
      for (const id of removable) expect(dry.stdout).to.include(`  ${id}  created `)
      expect(dry.stdout).to.include(`Kept: 1 younger than ${GUARD} s, 0 pinned, 0 with children or forks, 0 in worktrees`)
      expect(await scene.sessions()).to.deep.equal([...removable, young].sort())

      const json = await runStoa(['sweep', '--json', ...there], key)
      const report = JSON.parse(json.stdout) as SweepReport
      expect([json.code, report.dry_run, report.removed.map(({ session_id }) => session_id)]).to.deep.equal([0, true, removable])

      const applied = await runStoa(['sweep', '--apply', ...there], key)
      expect(applied.code).to.equal(0)
      expect(applied.stdout).to.match(/^2 empty sessions removed\.\n/)
      expect(await scene.sessions()).to.deep.equal([young])
      expect((await runStoa(['sweep', '--apply', ...there], key)).stdout).to.match(/^0 empty sessions removed\.\n/)
    })

    it('a run that ends at its limit says so', async () => {
      await scene.manyEmpty(await scene.world.worktree(scene.alice), 501)
      expect((await runStoa(['sweep', ...there], key)).stdout).to.match(/There are more: one run ends here\. Sweep again\.\n$/)
    })

    it('without rights it ends with 1, says what is missing, and removes nothing', async () => {
      const before = await scene.sessions()
      const member = await runStoa(['sweep', '--apply', ...there], (await scene.world.apiKey(scene.alice)).secret)
      expect([member.code, member.stdout]).to.deep.equal([1, ''])
      expect(member.stderr).to.match(/^stoa: .*403 role_too_low.*It takes: admin\. The key's user has: member\.\n$/)
      const revoked = await runStoa(['sweep', '--apply', ...there], `${key.slice(0, -4)}AAAA`)
      expect([revoked.code, revoked.stdout]).to.deep.equal([1, ''])
      expect(revoked.stderr).to.match(/^stoa: .*401 not_authenticated.*STOA_KEY must be an API key of an admin/)
      expect(await scene.sessions()).to.deep.equal(before)
    })
  })

  const KEY = 'stoa_pat_0123456789'
  const nowhere = ['--daemon', 'http://127.0.0.1:4']

  it('a daemon that does not answer, or something that is none: it ends with 1 and says where to look', async () => {
    const gone = await runStoa(['sweep', ...nowhere], KEY)
    expect(gone.code).to.equal(1)
    expect(gone.stderr).to.match(
      /^stoa: http:\/\/127\.0\.0\.1:4 does not answer \(ECONNREFUSED\)\. Is the daemon running there\? --daemon/
    )

    const other = createServer((_request, response) => response.end('<html>')).listen(0, '127.0.0.1')
    await once(other, 'listening')
    try {
      const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
      const page = await runStoa(['sweep', '--daemon', url], KEY)
      expect([page.code, page.stderr]).to.deep.equal([
        1,
        `stoa: ${url} answered 200, but not as a Stoa daemon does. Check --daemon.\n`
      ])
    } finally {
      other.close()
    }
  })

  const wrong: [what: string, args: string[], key: string | undefined, says: RegExp][] = [
    ['an unknown command', ['swep'], KEY, /There is no command swep\. See stoa help/],
    ['an unknown option', ['sweep', '--aply', ...nowhere], KEY, /--aply[\s\S]*See stoa sweep --help/],
    ['an argument that nobody takes', ['sweep', 'all', ...nowhere], KEY, /all[\s\S]*See stoa sweep --help/],
    ['an option without its value', ['sweep', '--daemon'], KEY, /--daemon/],
    ['an address that is none', ['sweep', '--daemon', 'localhost:4747'], KEY, /--daemon is not a URL that starts with http/],
    ['a key in the address', ['sweep', '--daemon', 'http://root:secret@127.0.0.1:4'], KEY, /the key comes from STOA_KEY/],
    ['no key', ['sweep', ...nowhere], undefined, /STOA_KEY is not set/],
    ['a key with a line break', ['sweep', ...nowhere], `${KEY}\n`, /STOA_KEY has a space, a line break/],
    ['help about nothing', ['help', 'swep'], undefined, /There is no command swep/]
  ]
  for (const [what, args, key, says] of wrong) {
    it(`${what}: it ends with 2, says what is wrong, and asks nobody`, async () => {
      const { code, stdout, stderr } = await runStoa(args, key)
      expect([code, stdout]).to.deep.equal([2, ''])
      expect(stderr)
        .to.match(/^stoa: /)
        .and.to.match(says)
      expect(stderr)
        .not.to.match(/^\s+at /m)
        .and.not.to.include(KEY)
    })
  }

  it('explains itself: alone, with help, with --help, and each command', async () => {
    for (const args of [[], ['help'], ['--help'], ['-h']]) {
      const { code, stdout } = await runStoa(args)
      expect(code).to.equal(0)
      expect(stdout)
        .to.match(/^stoa COMMAND/)
        .and.to.match(/^ {2}sweep +removes/m)
    }
    for (const args of [
      ['help', 'sweep'],
      ['sweep', '--help']
    ])
      expect((await runStoa(args)).stdout).to.match(/^stoa sweep \[--apply\]/)
  })
})
