/** Keys and values of maps as text for people. */
package agent.maps.format;
