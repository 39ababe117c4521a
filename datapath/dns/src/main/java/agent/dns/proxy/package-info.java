/** The DNS proxy: asks for endpoints what policy allows, and releases answers that are enforced. */
package agent.dns.proxy;
