/** The process of the proxies, which has no rights, and what the agent exchanges with it. */
package agent.domain.proxy;
