/**
 * Serves reads of maps to the API, from copies of the maps that the agent writes or from the
 * kernel, and keeps the desired writes that the kernel refused.
 */
package agent.maps.mirror;
