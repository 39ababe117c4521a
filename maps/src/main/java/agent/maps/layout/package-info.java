/** The structs and enums shared with the C programs: generated, but for what computes with them. */
package agent.maps.layout;
