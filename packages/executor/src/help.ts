export const HELP = `stoa-executor --daemon URL [--name NAME] [--agents AGENT,…] [--once] [--dir DIR] [--timeout SECONDS]
stoa-executor --daemon URL --task TASK_ID [--dir DIR] [--timeout SECONDS]

Takes tasks from the daemon, one after the other, runs the prompt of each as a shell command in the directory of its
worktree, and reports. With --task it runs this one and ends.

  --daemon URL       the daemon, such as http://127.0.0.1:4747
  --name NAME        what to call this executor; without it, the name of the machine
  --agents AGENT,…   whose tasks to take, besides those that name no agent; without it, all that it has drivers for
  --once             takes one task and ends, also when none comes within 20 s
  --task TASK_ID     the task to run; it must be queued
  --dir DIR          where to run a task whose worktree is a record without a directory
  --timeout SECONDS  ends a command after this long; without it there is no limit
  --help             this text

The credential comes from the environment:
  STOA_KEY           an API key (stoa_pat_…): to take tasks, one with the scope "executor"; with --task, one of somebody
                     who may run the task, or an access token; exchanged for a token of the task
  STOA_TASK_TOKEN    with --task instead of a key: a token of the task (stoa_task_…)

Exit code: 0 told to end, or --once; 1 the executor could not do its work, such as with a key of the wrong scope.
With --task: 0 the task completed, 2 the command failed, timed out or was stopped, 1 the executor could not do its work.
`
