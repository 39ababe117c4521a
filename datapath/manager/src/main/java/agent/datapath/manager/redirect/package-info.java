/** The flows that programs send to the proxies of this agent ({@code lib/redirect.h}). */
package agent.datapath.manager.redirect;
