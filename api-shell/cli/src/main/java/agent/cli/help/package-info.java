/** Help texts, man pages and shell completions, made from the table of commands. */
package agent.cli.help;
