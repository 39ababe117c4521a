/**
 * Serves reads of maps to the API, from copies of the maps that the agent writes or from the
 * kernel, with the writes that the kernel refused as who makes them knows them.
 */
package agent.maps.mirror;
