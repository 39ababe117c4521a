/**
 * One flyweight for each C struct that the agent shares with its programs, and the C enums by
 * number.
 */
package agent.maps.layout;
