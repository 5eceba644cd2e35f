import { expect } from 'chai'
import { codeOf, rowsOf, type Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { doorKeeper } from '../support/doors.js'
import { rawRequest } from '../support/raw-request.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'

const contents: [name: string, content: unknown][] = [
  ['a string', 'hello'],
  ['an empty string', ''],
  ['null beside tool calls', null],
  ['an empty list', []],
  ['a string that looks like a list of blocks', '[{"type":"text","text":"a"}]'],
  ['a string that looks like JSON', '"null"'],
  ['white space and line ends', ' \t\r\n a \r b \n\n '],
  ['emoji, right-to-left text and bidi marks', '👩‍👩‍👧‍👦 שלום \u202e مرحبا \u2066x\u2069 e\u0301 \u00e9 \ufeff\ufffe\uffff'],
  ['a lone surrogate', 'a\ud800b\udc00'],
  ['a lone surrogate in a block', [{ type: 'text', text: '\udfff', '\ud83d': 1 }]],
  [
    'the other control characters',
    Array.from({ length: 31 }, (_, index) => String.fromCharCode(index + 1)).join('') + '\u007f\u0085\u2028\u2029'
  ],
  [
    'a list of blocks',
    [
      { type: 'text', text: 'a' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
      { type: 'input_audio', data: 'AA==' },
      { type: 'document', title: null }
    ]
  ],
  [
    'a nested tool result',
    [
      {
        type: 'tool_result',
        content: [{ type: 'text', text: '' }, [[], {}], { a: { b: [null, true, 1.5, -0.1, 1e21, 5e-324, 9007199254740991] } }]
      }
    ]
  ],
  [
    'a block of an unknown type with unusual keys',
    [{ type: 'from the future', '': 0, $ne: null, 'a.b': [], constructor: 'x', toString: 1, length: -1 }]
  ],
  ['a text of 1 MB', 'é\\"\n'.repeat(262_144)]
]

describe('what is written', () => {
  eachDatabase((database) => {
    const open = doorKeeper()
    let world: World
    let alice: Person
    let worktree_id: string

    before(async () => {
      world = await buildWorld((await database.start()).url)
      alice = await world.user('alice')
      worktree_id = await world.worktree(alice)
    })

    const session = () => world.session(alice, worktree_id)
    const messagesOf = async (session_id: string) =>
      rowsOf(await alice.rest.get(`/messages?session_id=${session_id}&$limit=200&$sort[seq]=1`))

    for (const [name, content] of contents)
      it(`F1: ${name} comes back byte for byte: from create, get, a list, a patch and its revisions`, async () => {
        const session_id = await session()
        const doors = await open(world.url, alice.token)
        for (const door of doors) {
          const message = await made(
            door.call('messages', 'create', { session_id, role: 'assistant', content, metadata: { tool_calls: [{ content }] } })
          )
          const message_id = text(message, 'message_id')
          const patched = text(
            await made(door.call('messages', 'create', { session_id, role: 'user', content: 'before' })),
            'message_id'
          )
          const answers = [message, await made(door.call('messages', 'patch', patched, { content }))]
          for (const reader of doors)
            answers.push(
              await made(reader.call('messages', 'get', message_id)),
              await made(reader.call('messages', 'get', patched))
            )
          for (const reader of doors)
            answers.push(
              ...rowsOf(await reader.call('messages', 'find', { query: { session_id, $sort: { seq: -1 }, $limit: 2 } }))
            )
          answers.push(rowsOf(await door.call(`messages/${patched}/revisions`, 'find')).find(({ revision }) => revision === 2)!)
          for (const answer of answers)
            expect(
              JSON.stringify(answer['content']) === JSON.stringify(content),
              `${door.transport} ${JSON.stringify(answer).slice(0, 300)}`
            ).to.equal(true)
          const { metadata } = await made(door.call('messages', 'get', message_id))
          expect(JSON.stringify(metadata)).to.equal(JSON.stringify({ tool_calls: [{ content }] }))
        }
      })

    it('F1: the order of keys in a block is kept as it was sent', async () => {
      const session_id = await session()
      const content = '[{"type":"z","b":1,"a":{"10":1,"d":[],"c":{}},"aa":null}]'
      const headers = { authorization: `Bearer ${alice.token}` }
      const { body } = await rawRequest(world.url, 'POST', '/messages', {
        headers,
        body: `{"session_id":"${session_id}","role":"user","content":${content}}`
      })
      for (const path of [`/messages/${text(body, 'message_id')}`, `/messages?session_id=${session_id}`])
        expect((await rawRequest(world.url, 'GET', path, { headers })).text).to.include(`"content":${content}`)
    })

    it('F1: a number that is too large or too fine is refused or kept as it was sent, never another number', async () => {
      const session_id = await session()
      const headers = { authorization: `Bearer ${alice.token}` }
      for (const number of ['12345678901234567890', '1e400', '0.1234567890123456789']) {
        const content = `[{"type":"x","n":${number}}]`
        const { status, text: told } = await rawRequest(world.url, 'POST', '/messages', {
          headers,
          body: `{"session_id":"${session_id}","role":"user","content":${content}}`
        })
        if (status !== 400) expect(told, number).to.include(`"content":${content}`)
      }
    })

    it('F1: a text with a NUL is refused, and none of it is kept', async () => {
      const session_id = await session()
      for (const door of await open(world.url, alice.token))
        for (const content of ['a\0b', [{ type: 'text', text: '\0' }], [{ type: 'x', deep: [{ '\0': 1 }] }]])
          expect((await door.call('messages', 'create', { session_id, role: 'user', content })).status).to.equal(400)
      expect(await messagesOf(session_id)).to.deep.equal([])
    })

    it('A7: of a list whose third message is invalid none is kept, and the next one has the next seq', async () => {
      const session_id = await session()
      const good = { session_id, role: 'user', content: 'good' }
      const bad: Body[] = [
        { ...good, role: 'nobody' },
        { ...good, content: 5 },
        { ...good, nonsense: 1 },
        { session_id, role: 'user' },
        { ...good, content: 'a\0' },
        { ...good, content: [{ text: 'no type' }] }
      ]
      for (const door of await open(world.url, alice.token))
        for (const third of bad)
          expect((await door.call('messages', 'create', [good, good, third, good])).status, JSON.stringify(third)).to.equal(400)
      const used = { ...good, client_message_id: 'used' }
      await made(alice.rest.post('/messages', used))
      const taken = await alice.rest.post('/messages', [good, good, { ...used, content: 'other' }])
      expect([taken.status, codeOf(taken)]).to.deep.equal([409, 'duplicate'])
      expect((await messagesOf(session_id)).map(({ seq, content }) => [seq, content])).to.deep.equal([[1, 'good']])
      const { message_count, last_seq } = await made(alice.rest.get(`/sessions/${session_id}`))
      expect([message_count, last_seq]).to.deep.equal([1, 1])
      await made(alice.rest.post('/messages', [good, good, good]))
      expect((await messagesOf(session_id)).map(({ seq }) => seq)).to.deep.equal([1, 2, 3, 4])
    })

    it('A3: the same client_message_id again is the first row with 200, and with other content 409', async () => {
      const session_id = await session()
      const message = { session_id, role: 'user', content: 'once', client_message_id: 'mine' }
      const first = await alice.rest.post('/messages', message)
      const again = await alice.rest.post('/messages', message)
      expect([first.status, again.status, again.body['message_id'], again.body['seq']]).to.deep.equal([
        201,
        200,
        first.body['message_id'],
        1
      ])
      for (const other of [{ content: 'twice' }, { content: [{ type: 'text', text: 'once' }] }, { role: 'assistant' }])
        for (const door of await open(world.url, alice.token)) {
          const answer = await door.call('messages', 'create', { ...message, ...other })
          expect([answer.status, codeOf(answer)], JSON.stringify(other)).to.deep.equal([409, 'duplicate'])
        }
      const elsewhere = await alice.rest.post('/messages', { ...message, session_id: await session() })
      expect([elsewhere.status, elsewhere.body['seq']]).to.deep.equal([201, 1])
      expect(await messagesOf(session_id)).to.have.lengthOf(1)
    })

    it('A3: ten of the same client_message_id at once make one row, and all are told about that row', async () => {
      for (let round = 0; round < 20; round++) {
        const session_id = await session()
        const message = { session_id, role: 'user', content: 'once', client_message_id: 'mine' }
        const answers = await Promise.all(Array.from({ length: 10 }, () => alice.rest.post('/messages', message)))
        expect(answers.map(({ status }) => status).sort()).to.deep.equal([...Array(9).fill(200), 201])
        expect(new Set(answers.map(({ body }) => body['message_id'])).size).to.equal(1)
        const { message_count, last_seq } = await made(alice.rest.get(`/sessions/${session_id}`))
        expect([message_count, last_seq, (await messagesOf(session_id)).length]).to.deep.equal([1, 1, 1])
      }
    })

    it('20 × 10 messages at once have the seq 1 to 200 without a gap, and each sender’s in their order', async () => {
      const session_id = await session()
      const senders = Array.from({ length: 20 }, async (_, sender) => {
        const [rest, socket] = sender % 2 ? [alice.rest, alice.rest] : await open(world.url, alice.token)
        for (let nth = 0; nth < 10; nth++)
          await made(
            (nth % 2 ? rest : socket)!.call('messages', 'create', { session_id, role: 'user', content: `${sender} ${nth}` })
          )
      })
      await Promise.all(senders)
      const rows = await messagesOf(session_id)
      expect(rows.map(({ seq }) => seq)).to.deep.equal(Array.from({ length: 200 }, (_, index) => index + 1))
      for (let sender = 0; sender < 20; sender++) {
        const own = rows.map(({ content }) => content as string).filter((content) => content.startsWith(`${sender} `))
        expect(own).to.deep.equal(Array.from({ length: 10 }, (_, nth) => `${sender} ${nth}`))
      }
      const { message_count, last_seq } = await made(alice.rest.get(`/sessions/${session_id}`))
      expect([message_count, last_seq]).to.deep.equal([200, 200])
    })
  })
})
