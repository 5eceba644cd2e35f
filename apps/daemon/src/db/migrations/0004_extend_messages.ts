import type { Content } from '@stoa/core/schema/messages'
import type { Knex } from 'knex'
import { contentColumns } from '../content-columns.js'
import type { Migration } from '../migrate.js'

/** What lists, search, the context and undo need of a message, and the boundary of a session's context. */
export const extendMessages: Migration = {
  name: '0004_extend_messages',
  async up(knex) {
    if (isPostgres(knex)) await extend(knex)
    else await rebuild(knex)
    await fillFromContent(knex)
    await indexWords(knex)
    await knex.raw('CREATE INDEX messages_removed ON messages (session_id, seq) WHERE deleted_at IS NOT NULL')
    await knex.raw('CREATE INDEX messages_boundary ON messages (session_id, boundary_seq) WHERE boundary_seq IS NOT NULL')
    await knex.raw('CREATE INDEX messages_removal ON messages (removal_id) WHERE removal_id IS NOT NULL')
    // What was forked from a session: the sweep asks for each empty one.
    const origin = isPostgres(knex)
      ? `(forked_from::jsonb ->> 'session_id')`
      : `CAST(json_extract(forked_from, '$.session_id') AS TEXT)`
    await knex.raw(`CREATE INDEX sessions_forked_from ON sessions (${origin}) WHERE forked_from IS NOT NULL`)
    await knex.raw(`
      UPDATE sessions SET tokens_estimated = COALESCE((
        SELECT SUM(m.tokens_estimated) FROM messages m WHERE m.session_id = sessions.session_id AND m.deleted_at IS NULL), 0)`)
  }
}

const isPostgres = (knex: Knex): boolean => knex.client.config.client === 'pg'

async function extend(knex: Knex): Promise<void> {
  await knex.raw(`ALTER TABLE messages
    ADD removal_id TEXT, ADD boundary_seq INTEGER, ADD tokens_estimated INTEGER NOT NULL DEFAULT 0, ADD tool_blocks TEXT,
    ADD preview TEXT NOT NULL DEFAULT '', ADD words TEXT NOT NULL DEFAULT ''`)
  await knex.raw(`ALTER TABLE sessions
    ADD boundary_seq INTEGER NOT NULL DEFAULT 0, ADD tokens_estimated BIGINT NOT NULL DEFAULT 0`)
}

/**
 * SQLite reads a row from its beginning: a column behind a large one costs a walk over all pages of the large one. So the
 * table is made anew with the large columns last. It gets a number of its own too, because the search index refers to
 * rows by number and VACUUM renumbers those of a table without one.
 */
async function rebuild(knex: Knex): Promise<void> {
  const copied = `message_id, session_id, task_id, seq, role, client_message_id, revision, edited_at, edited_by, deleted_at,
    version, created_at, created_by, updated_at, metadata, content`
  await knex.raw('DROP VIEW message_revisions')
  await knex.raw(`
    CREATE TABLE new_messages (
      row_id INTEGER PRIMARY KEY,
      message_id TEXT NOT NULL UNIQUE,
      session_id TEXT NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
      task_id TEXT REFERENCES tasks (task_id) ON DELETE SET NULL,
      seq INTEGER NOT NULL,
      role TEXT NOT NULL,
      client_message_id TEXT,
      revision INTEGER NOT NULL DEFAULT 1,
      edited_at TEXT,
      edited_by TEXT,
      deleted_at TEXT,
      removal_id TEXT,
      boundary_seq INTEGER,
      tokens_estimated INTEGER NOT NULL DEFAULT 0,
      tool_blocks TEXT,
      version INTEGER NOT NULL DEFAULT 1,
      created_at TEXT NOT NULL,
      created_by TEXT,
      updated_at TEXT NOT NULL,
      preview TEXT NOT NULL DEFAULT '',
      metadata TEXT,
      content TEXT NOT NULL,
      words TEXT NOT NULL DEFAULT '',
      UNIQUE (session_id, seq),
      UNIQUE (session_id, client_message_id)
    )`)
  await knex.raw(`INSERT INTO new_messages (${copied}) SELECT ${copied} FROM messages ORDER BY message_id`)
  await knex.raw('DROP TABLE messages')
  await knex.raw('ALTER TABLE new_messages RENAME TO messages')
  await knex.raw('CREATE INDEX messages_task ON messages (task_id)')
  await knex.raw(`
    CREATE VIEW message_revisions AS
    SELECT message_id, revision, content, created_at, created_by FROM past_revisions
    UNION ALL
    SELECT message_id, revision, content, COALESCE(edited_at, created_at), COALESCE(edited_by, created_by) FROM messages`)
  await knex.raw('ALTER TABLE sessions ADD boundary_seq INTEGER NOT NULL DEFAULT 0')
  await knex.raw('ALTER TABLE sessions ADD tokens_estimated INTEGER NOT NULL DEFAULT 0')
}

/**
 * Words are cut by our own rules before they get here, so the index only splits at spaces. The session is a word of its
 * own column: a search within one session meets only that session's rows. Triggers, so that what a cascade removes is
 * gone from the index too.
 */
async function indexWords(knex: Knex): Promise<void> {
  if (isPostgres(knex)) return indexVectors(knex)
  const row = `(NEW.row_id, NEW.words, replace(NEW.session_id, '-', ''))`
  await knex.raw(
    `CREATE VIRTUAL TABLE message_words USING fts5(words, session, content='', contentless_delete=1, tokenize='ascii')`
  )
  await knex.raw(
    `INSERT INTO message_words (rowid, words, session) SELECT row_id, words, replace(session_id, '-', '') FROM messages`
  )
  await knex.raw(`CREATE TRIGGER messages_index_new AFTER INSERT ON messages
    BEGIN INSERT INTO message_words (rowid, words, session) VALUES ${row}; END`)
  await knex.raw(`CREATE TRIGGER messages_index_edited AFTER UPDATE OF words ON messages
    BEGIN INSERT OR REPLACE INTO message_words (rowid, words, session) VALUES ${row}; END`)
  await knex.raw(`CREATE TRIGGER messages_index_gone AFTER DELETE ON messages
    BEGIN DELETE FROM message_words WHERE rowid = OLD.row_id; END`)
}

async function fillFromContent(knex: Knex): Promise<void> {
  for (let after = ''; ;) {
    const rows: { message_id: string; content: string }[] = await knex('messages')
      .select('message_id', 'content')
      .where('message_id', '>', after)
      .orderBy('message_id')
      .limit(20)
    for (const { message_id, content } of rows) {
      const { preview, tokens_estimated, tool_blocks, words } = contentColumns(JSON.parse(content) as Content)
      await knex('messages').where({ message_id }).update({ preview, tokens_estimated, tool_blocks, words })
    }
    const last = rows.at(-1)
    if (!last) return
    after = last.message_id
  }
}

async function indexVectors(knex: Knex): Promise<void> {
  // A function of its own, because it can say what it costs: PostgreSQL takes the built-in ones to be free, and looked for a
  // rare word by computing this for every message (2 s of 200,000). plpgsql, because that is never inlined.
  await knex.raw(`CREATE FUNCTION words_vector(words text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000
    AS $$ BEGIN RETURN array_to_tsvector(string_to_array(words, ' ')); END $$`)
  await knex.raw('CREATE INDEX messages_words ON messages USING gin (words_vector(words))')
}
