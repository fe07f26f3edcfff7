import cy

print(cy.run())
