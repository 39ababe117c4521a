/**
 * Copies of the kernel's maps for readers, and what the agent wants in them but could not write.
 */
package agent.maps.mirror;
