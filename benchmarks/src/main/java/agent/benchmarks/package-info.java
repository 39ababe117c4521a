/**
 * Implements {@code make bench}, which prints each figure beside its reference as Markdown tables.
 */
package agent.benchmarks;
