import { expect } from 'chai'
import { queryString, rowsOf, type Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { buildWorld, text, type Person, type World } from '../support/world.js'
import { historyOf } from './history-scene.js'
import { messages, open, searches } from './search-cases.js'

describe('the words of a search', () => {
  const answers = new Map<string, Record<string, string[]>>()

  eachDatabase((database) => {
    let world: World
    let alice: Person
    let session_id: string
    const names = new Map<string, string>()

    before(async () => {
      world = await buildWorld((await database.start()).url)
      alice = await world.user('alice')
      session_id = await world.session(alice, await world.worktree(alice))
      const rows = await historyOf(alice.rest, session_id).say(
        ...Object.values(messages).map((content) => ({ role: 'assistant', content }))
      )
      for (const [index, name] of Object.keys(messages).entries()) names.set(text(rows[index]!, 'message_id'), name)
    })

    const search = (words: unknown, query: Body = {}) => alice.rest.get(`/messages${queryString({ search: words, ...query })}`)
    const found = async (words: string): Promise<string[]> => {
      const answer = await search(words)
      expect(answer.status, `${words}: ${JSON.stringify(answer.body)}`).to.equal(200)
      expect(answer.body['total'], words).to.equal(rowsOf(answer).length)
      return rowsOf(answer).map((row) => names.get(text(row, 'message_id'))!)
    }

    it('are all in what is found, whatever their case and script, and what the databases call operators are words', async () => {
      const wrong: unknown[] = []
      for (const [words, expected] of searches) {
        const names = await found(words)
        if (names.join() !== [...expected].reverse().join()) wrong.push({ words, expected, found: names.reverse() })
      }
      expect(wrong).to.deep.equal([])
    })

    it('must be there: none at all, too much of them, and what is no text are 400', async () => {
      const none = [
        '',
        ' ',
        '*',
        '"',
        '🎉',
        '-- :|&!',
        '()',
        '<>',
        '…',
        'x'.repeat(201),
        'a\0b',
        ['a', 'b'],
        { $ne: 'x' },
        { $like: '%' }
      ]
      for (const words of none) expect((await search(words)).status, JSON.stringify(words)).to.equal(400)
      expect((await search('x'.repeat(200))).status).to.equal(200)
    })

    it('are marked in a snippet that is escaped, so that it can be shown as it is', async () => {
      const snippet = async (words: string): Promise<string> => text(rowsOf(await search(words))[0]!, 'snippet')
      const hostile = await snippet('needle thread')
      expect(hostile)
        .to.include('<mark>needle</mark>')
        .and.include('<mark>thread</mark>')
        .and.include('&lt;script&gt;')
        .and.include('&amp;')
      expect(hostile.replaceAll(/<\/?mark>/g, '')).not.to.match(/[<>]/)
      expect(hostile.match(/<mark>/g)).to.have.lengthOf(2)
      expect(await snippet('script')).to.include('&lt;<mark>script</mark>&gt;')
      expect((await snippet('quick fox')).toLowerCase())
        .to.include('<mark>quick</mark>')
        .and.include('<mark>fox</mark>')
      expect(await snippet('lazy')).to.include('<mark>lazy</mark> dog')
      expect(await snippet('qui*')).to.include('<mark>quick</mark>')
      expect(await snippet('שלום')).to.include('<mark>שלום</mark>')
      expect(await snippet('block')).to.include('<mark>Block</mark>')
      expect((await snippet('世界')).replaceAll('</mark><mark>', '')).to.include('<mark>世界</mark>')
    })

    it('are found in the midst of a long text, and the snippet is around them', async () => {
      const far = `${'before '.repeat(20_000)}lighthouse${' after'.repeat(20_000)}`
      await historyOf(alice.rest, session_id).say({ role: 'user', content: far })
      const [row] = rowsOf(await search('lighthouse'))
      expect(text(row!, 'snippet')).to.include('before <mark>lighthouse</mark> after').and.have.property('length').below(1000)
    })

    it('answer the open questions', async () => {
      const told: Record<string, string[]> = {}
      for (const words of open) told[words] = await found(words)
      for (const [words] of searches) told[words] = rowsOf(await search(words)).map((row) => text(row, 'snippet'))
      answers.set(database.name, told)
    })
  })

  describe('on both databases', () => {
    it('find the same, with the same snippets', () => {
      const [first, ...others] = answers.values()
      for (const other of others) expect(other).to.deep.equal(first)
    })
  })
})
