/**
 * Maps addresses to identities: the desired ipcache entries by source, and their difference to the
 * kernel; the only writer of the ipcache maps.
 */
package agent.ipcache;
