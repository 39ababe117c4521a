// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Prints the addresses of each name, of both families, as the resolver of the C library finds them, or its error. */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static void print(const char *name)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	char text[64];
	const int error = getaddrinfo(name, NULL, &hints, &found);

	printf("%s", name);
	if (error) {
		printf(" error %s\n", error == EAI_NONAME ? "NONAME" : error == EAI_AGAIN ? "AGAIN" : "other");
		return;
	}
	for (const struct addrinfo *one = found; one; one = one->ai_next) {
		if (!getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST))
			printf(" %s", text);
	}
	printf("\n");
	freeaddrinfo(found);
}

int main(int count, char **names)
{
	for (int i = 1; i < count; i++)
		print(names[i]);
	return 0;
}
