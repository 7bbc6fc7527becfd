// Hands the conversation to the executable when Claude Code compacts it, and applies the answer. No logic: on any
// trouble, and when the executable says so, Claude Code's own compaction runs, and its reason is shown.
//
// Only calls that 2.1.274 has too. `$` is written out where it is used: the engine reads the calls from the source.
const TIMEOUT_MS = 55_000

// A row that the engine would refuse makes it compact without telling anybody why.
const isRow = (row, messages) =>
  typeof row === 'number' ? row in messages : typeof row?.text === 'string' && Array.isArray(row.toolUses)
const isAnswer = (answer, messages) =>
  typeof answer?.fallback === 'string' ||
  (Array.isArray(answer?.rows) && answer.rows.length > 0 && answer.rows.every(row => isRow(row, messages)))

/** @type {import('claude-code').Register} */
export const register = (on, options) => {
  if (options.compact === false) return
  on('session.compact', async ($, event, next) => {
    // Compacting ahead of time would only buy a summary that the real answer replaces.
    if (event.trigger === 'precompute') return { skip: 'pruned when it is needed' }
    let answer
    try {
      const { trigger, agentId, instructions, messages } = event
      const run = await $.process.run([$.plugin.root + '/bin/context-packer', 'compact', '--host', 'claude-code'], {
        stdin: JSON.stringify({ v: 1, trigger, agentId, instructions, options, messages }),
        env: { CLAUDE_PLUGIN_ROOT: $.plugin.root },
        timeoutMs: TIMEOUT_MS,
      })
      if (run.exitCode !== 0) throw new Error(run.stderr.trim().split('\n').pop() || 'exit ' + run.exitCode)
      if (run.isStdoutTruncated) throw new Error('answer over 4 MiB')
      answer = JSON.parse(run.stdout)
      if (!isAnswer(answer, messages)) throw new Error('invalid answer')
    } catch (error) {
      answer = { fallback: error instanceof Error ? error.message : String(error) }
    }
    for (const line of answer.log ?? []) $.ui.log(line, { to: 'debug' })
    const toast = answer.toast ?? 'fallback to built-in summary (' + answer.fallback + ')'
    $.ui.log(toast)
    $.ui.toast(toast, { timeoutMs: 15_000 })
    if (answer.rows === undefined) return next(event)
    // A number is the engine's own message of that index, handle and all; an object is a message built anew.
    const messages = answer.rows.map(row => (typeof row === 'number' ? event.messages[row] : row))
    return { messages, tokensBefore: answer.tokensBefore, tokensAfter: answer.tokensAfter }
  })
}
