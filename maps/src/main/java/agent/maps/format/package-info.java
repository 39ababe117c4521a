/** Formats keys and values of maps as text for the API and for messages. */
package agent.maps.format;
