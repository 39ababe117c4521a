/** The HTTP proxy: it judges each request of the flows that the datapath redirects to it. */
package agent.l7proxy;
