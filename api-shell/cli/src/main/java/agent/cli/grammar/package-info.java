/** The grammar of a command line: commands, arguments and options as one table, and its parser. */
package agent.cli.grammar;
