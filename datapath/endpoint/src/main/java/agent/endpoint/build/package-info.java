/** Builds and removes endpoints in steps: policy map, programs, ipcache entries and routes. */
package agent.endpoint.build;
