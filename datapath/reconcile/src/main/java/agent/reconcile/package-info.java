/**
 * The desired entries of kernel maps by source, and the reconciler that brings the maps to them in
 * bounded steps of a conductor: ordered batches, retries, and a comparison with the kernel; desired
 * words of arrays in mapped memory, which need no retry.
 */
package agent.reconcile;
