/** main(): everything wired by hand in one readable place. */
package agent.launcher;
