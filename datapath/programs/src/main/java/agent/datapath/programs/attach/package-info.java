/**
 * Attaches programs to tc and XDP hooks by pinned links or clsact filters, and replaces them
 * atomically.
 */
package agent.datapath.programs.attach;
