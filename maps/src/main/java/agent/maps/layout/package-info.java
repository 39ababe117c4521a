/** Declares the structs and enums that the agent shares with its C programs, one type for each. */
package agent.maps.layout;
