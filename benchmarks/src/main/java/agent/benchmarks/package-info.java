/** What {@code make bench} runs: each figure beside its reference, as one Markdown report. */
package agent.benchmarks;
