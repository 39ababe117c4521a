/** Services: the addresses that clients use (frontends) and those that serve them (backends). */
package agent.service;
